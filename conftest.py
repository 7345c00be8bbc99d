"""Fixtures that all tests share: folders in which the real workflow runs. And how tests go to several processes."""

import pytest

pytest_plugins = ("tests.workflow.running",)


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items):
    """With ``pytest -n``: a file's tests stay together, and all that look at the one run at toy size stay together."""
    for item in items:
        group = "smoke" if "smoke" in item.fixturenames else item.location[0]
        item.add_marker(pytest.mark.xdist_group(group))
