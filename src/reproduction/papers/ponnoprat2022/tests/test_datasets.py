"""Test the reading of raw files from folders and from a local web server that also sends wrong, truncated and failing
responses.
"""

import gzip
import hashlib
import io
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpmultinomial._models import coded_table
from reproduction.papers.ponnoprat2022 import catalogue, datasets
from reproduction.papers.ponnoprat2022.catalogue import File, Source

ROOT = Path(__file__).parents[5]
MIRROR = Path(__file__).parents[6] / "shared/uci/CreditCard"
CONTENT = b"1,2,a\n3,4,b\n"
HASH = hashlib.sha256(CONTENT).hexdigest()


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


GOOD = zipped({"inner.zip": zipped({"folder/toy.data": CONTENT})})
ANSWERS = {
    "/good.zip": (200, GOOD, 0),
    "/wrong.zip": (200, zipped({"inner.zip": zipped({"folder/toy.data": b"other"})}), 0),
    "/nozip.zip": (200, b"<html>moved</html>", 0),
    "/truncated.zip": (200, GOOD, 40),
    "/busy.zip": (503, b"", 0),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        status, body, missing = ANSWERS[self.path]
        if self.path == "/busy.zip" and self.server.recovers and len(self.server.asked) > 1:
            status, body = 200, GOOD
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - missing])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked, made.recovers = [], False
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def source(server, path):
    return Source(
        name="Toy",
        files=(File(name="toy.data", sha256=HASH, member=("inner.zip", "folder/toy.data")),),
        archive=f"http://127.0.0.1:{server.server_address[1]}{path}",
        header=False,
        columns=("x", "z", "y"),
        target="y",
        numeric=("x",),
        printed=(2, 2, 2, None),
    )


def test_a_download_is_verified_kept_and_not_asked_for_again(server, tmp_path):
    toy, places = source(server, "/good.zip"), [tmp_path / "kept", tmp_path / "other"]
    for _ in range(2):
        assert datasets.obtain(toy, folders=places, download=True) == {"toy.data": CONTENT}
    assert server.asked == ["/good.zip"]
    assert sorted(p.name for p in (tmp_path / "kept/Toy").iterdir()) == ["downloaded", "toy.data"]
    assert datasets.tidy(toy, {"toy.data": CONTENT}).to_numpy().tolist() == [["1", "2", "a"], ["3", "4", "b"]]


def test_a_wrong_download_names_file_expected_and_found_and_writes_nothing(server, tmp_path):
    with pytest.raises(
        datasets.ChecksumError, match=rf"toy\.data .*checksum is [0-9a-f]{{64}}, but the expected checksum is {HASH}"
    ):
        datasets.obtain(source(server, "/wrong.zip"), folders=[tmp_path / "kept"], download=True)
    with pytest.raises(datasets.ChecksumError, match=r"is not a zip archive that contains inner\.zip"):
        datasets.obtain(source(server, "/nozip.zip"), folders=[tmp_path / "kept"], download=True)
    assert not (tmp_path / "kept").exists()


def test_a_truncated_download_counts_as_none(server, tmp_path):
    with pytest.raises(datasets.UnavailableError, match=r"Toy was not found in .*truncated\.zip"):
        datasets.obtain(source(server, "/truncated.zip"), folders=[tmp_path], download=True, retries=1)
    assert server.asked == ["/truncated.zip"] * 2
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_is_asked_again_and_then_given_up(server, tmp_path):
    with pytest.raises(datasets.UnavailableError, match="HTTP status 503"):
        datasets.obtain(source(server, "/busy.zip"), folders=[tmp_path], download=True, retries=2)
    assert len(server.asked) == 3
    server.asked.clear()
    server.recovers = True
    assert datasets.obtain(source(server, "/busy.zip"), folders=[tmp_path], download=True, retries=1)


def test_without_network_or_permission_the_reason_is_given(tmp_path, server):
    toy = source(server, "/good.zip")
    with pytest.raises(datasets.UnavailableError, match="downloads are switched off") as caught:
        datasets.obtain(toy, folders=[tmp_path, ROOT / "data"], download=False)
    assert f"{os.path.relpath(tmp_path, ROOT)}, data, and" in str(caught.value)
    assert str(ROOT) not in str(caught.value)  # the message is published
    server.shutdown()
    server.server_close()
    with pytest.raises(datasets.UnavailableError, match="no connection"):
        datasets.obtain(toy, folders=[tmp_path], download=True, retries=0)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_folders_come_first_and_are_verified(tmp_path, server, packed, nested):
    place = tmp_path / "second" / ("Toy" if nested else "")
    place.mkdir(parents=True)
    path = place / ("toy.data.gz" if packed else "toy.data")
    path.write_bytes(gzip.compress(CONTENT) if packed else CONTENT)
    toy, places = source(server, "/good.zip"), [tmp_path / "first", tmp_path / "second"]
    assert datasets.obtain(toy, folders=places, download=True) == {"toy.data": CONTENT}
    assert server.asked == []
    for bad in (gzip.compress(b"bad") if packed else b"bad", b"\x1f\x8b"):
        path.write_bytes(bad)
        with pytest.raises(datasets.UnavailableError, match=rf"{os.path.relpath(path, ROOT)}.*switched off"):
            datasets.obtain(toy, folders=places, download=False)
        later = [*places, tmp_path / "third"]  # a wrong file is skipped, and the file in the next folder is used
        later[-1].mkdir(exist_ok=True)
        (later[-1] / "toy.data").write_bytes(CONTENT)
        assert datasets.obtain(toy, folders=later, download=False) == {"toy.data": CONTENT}
    assert server.asked == []
    assert datasets.obtain(toy, folders=places, download=True) == {"toy.data": CONTENT}
    assert server.asked == ["/good.zip"]


def test_a_file_that_the_user_brings_is_a_new_input_and_a_download_is_none(tmp_path, monkeypatch):
    monkeypatch.setitem(catalogue.SOURCES, "Toy", SimpleNamespace(files=(File(name="t", sha256=""),), archive_files=()))
    assert catalogue.brought("Toy", [tmp_path]) == []
    assert catalogue.brought("bundled_iris", [tmp_path]) == []
    (tmp_path / "Toy").mkdir()
    (tmp_path / "Toy" / "t.gz").touch()
    assert catalogue.brought("Toy", [tmp_path / "none", tmp_path]) == [str(tmp_path / "Toy" / "t.gz")]
    (tmp_path / "Toy" / catalogue.DOWNLOADED).touch()
    assert catalogue.brought("Toy", [tmp_path]) == []


def test_prepared_tables_read_back_and_missing_ones_say_why(tmp_path):
    paths = tmp_path / "t.csv", tmp_path / "t.json"
    table = datasets.load("bundled_iris", folders=[], download=False)
    datasets.write(table, *paths)
    back = datasets.read(*paths)
    assert (back.codes == table.codes).all()
    assert all((a == b).all() for a, b in zip(back.levels, table.levels, strict=True))
    assert (back.columns, back.numeric, back.name) == (table.columns, table.numeric, table.name)
    datasets.write_missing("Toy", "no network", *paths)
    assert datasets.read(*paths) == "no network"


@pytest.mark.thorough
@pytest.mark.skipif(not MIRROR.is_dir(), reason="no mirror of the UCI files beside this checkout")
def test_the_archives_workbook_holds_the_same_table_as_the_text_file():
    credit = catalogue.SOURCES["CreditCard"]
    names = ("default of credit card clients.xls", "UCI_Credit_Card.csv")
    book, text = (datasets.tidy(credit, {n: gzip.decompress((MIRROR / f"{n}.gz").read_bytes())}) for n in names)
    assert list(book.columns) == list(text.columns)
    assert (book.astype(float) == text.astype(float)).all(axis=None)
    settings = {"name": "CreditCard", "target": credit.target, "numeric": credit.numeric}
    ours, theirs = (coded_table.encode(frame, **settings) for frame in (book, text))
    assert (ours.codes == theirs.codes).all()


def test_folders_are_named_as_they_are_configured(monkeypatch, tmp_path):
    """Check that an error message states the folder names exactly as they are configured. The names do not depend on
    the working directory or on a link to the repository.
    """
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        datasets.UnavailableError, match=r"was not found in data/nowhere, \.\./shared/nowhere, and downloads"
    ):
        datasets.load("Thyroid", folders=["data/nowhere", "../shared/nowhere"], download=False)
