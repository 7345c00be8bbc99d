"""Slurm of one node on this machine: start, stop, and the reason if this is not possible.

All state is below one folder, and only the daemons of this Slurm are ended, by the process ids that they wrote. It
requires Debian's packages ``slurm-wlm`` and ``munge``, and root. It has no accounting and listens only on the loopback
address. Processes that use more memory than their job requested are killed, as on clusters.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

CONFIGURATION = Path("/etc/slurm/slurm.conf")  # jobs of the executor read no other
DAEMONS = ("slurmd", "slurmctld")
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "munged", "mungekey", "runuser")
_TEXT = """\
ClusterName=test
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
SlurmctldPort=16817
SlurmdPort=16818
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=bf_interval=1,sched_min_interval=100000
MinJobAge=600
KillWait=2
NodeName=localhost CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=main Nodes=localhost Default=YES MaxTime=INFINITE DefMemPerCPU=500 State=UP
"""


def why_not() -> str:
    """Return the reason why Slurm cannot run on this machine; empty if it can."""
    if not Path("/etc/debian_version").is_file():
        return "a single-node Slurm is brought up on Debian and its kin only"
    if os.geteuid() != 0:
        return "only root can bring up a Slurm"
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        return f"no {', '.join(missing)}: apt-get install --no-install-recommends slurm-wlm munge"
    if CONFIGURATION.exists():
        return f"{CONFIGURATION} exists: this machine has a Slurm of its own, which is left alone"
    return ""


class SingleNode:
    """Context manager ``with SingleNode(folder) as slurm``, which starts Slurm and stops it at the end.

    Parameters
    ----------
    folder : folder for the state; it must be empty or not exist.

    Raises
    ------
    RuntimeError
        If Slurm cannot be started.
    """

    def __init__(self, folder: Path):
        self.folder, self._munged = folder, False

    def __enter__(self) -> "SingleNode":
        if reason := why_not():
            raise RuntimeError(reason)
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10 // 2**20
        text = _TEXT.format(folder=self.folder.resolve(), cpus=os.cpu_count(), memory=memory)
        (self.folder / "slurm.conf").write_text(text)
        if CONFIGURATION.is_symlink():  # to a folder that is gone: of tests that were killed
            CONFIGURATION.unlink()
        CONFIGURATION.symlink_to((self.folder / "slurm.conf").resolve())
        try:
            self._authentication()
            subprocess.run(["slurmctld"], check=True)
            subprocess.run(["slurmd", "-N", "localhost"], check=True)
            self._wait(["sinfo", "-h", "-o", "%t"], ("idle", "mix", "alloc"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["scancel", "--user", "root"], check=False, capture_output=True)
        for name in DAEMONS:
            _end(self.folder / f"{name}.pid")
        if self._munged:
            _end(Path("/run/munge/munged.pid"))
        CONFIGURATION.unlink()

    def _authentication(self) -> None:
        if subprocess.run(["munge", "-n"], check=False, capture_output=True).returncode == 0:
            return  # somebody's own
        if not Path("/etc/munge/munge.key").is_file():
            subprocess.run(["runuser", "-u", "munge", "--", "mungekey", "-c"], check=True)
        Path("/run/munge").mkdir(parents=True, exist_ok=True)
        shutil.chown("/run/munge", "munge", "munge")
        Path("/run/munge").chmod(0o755)
        subprocess.run(["runuser", "-u", "munge", "--", "munged", "--num-threads=4"], check=True)
        self._munged = True
        self._wait(["munge", "-n"], ("MUNGE",))

    @staticmethod
    def _wait(command: list[str], words: tuple[str, ...]) -> None:
        for _ in range(300):
            found = subprocess.run(command, check=False, capture_output=True, text=True).stdout
            if any(word in found for word in words):
                return
            time.sleep(0.2)
        raise RuntimeError(f"{' '.join(command)}: none of {', '.join(words)} within a minute")

    @staticmethod
    def queue(form: str = "%i|%T|%k") -> list[list[str]]:
        """Return fields of all jobs in the queue, by default id, state and rule."""
        lines = subprocess.run(["squeue", "-h", "-o", form], check=True, capture_output=True, text=True).stdout
        return [line.split("|") for line in lines.splitlines()]

    @staticmethod
    def finished() -> list[dict[str, str]]:
        """Return every job that Slurm still has in memory, by the keys of ``scontrol``."""
        text = subprocess.run(["scontrol", "-o", "show", "jobs"], check=True, capture_output=True, text=True).stdout
        return [dict(part.split("=", 1) for part in line.split() if "=" in part) for line in text.splitlines()]


def _end(file: Path) -> None:
    """End the daemon whose process id is in a file, and wait for its end."""
    try:
        process = int(file.read_text())
        os.kill(process, 15)
        for _ in range(100):
            os.kill(process, 0)
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":
                return
            time.sleep(0.1)
    except (OSError, ValueError):
        return
