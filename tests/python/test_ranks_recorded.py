"""Dumps that PyTorch's flight recorder writes here: test_ranks_recorded.py PROGRAM.

Two processes reduce three times with gloo; one of them then calls a fourth time alone.
"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from count_line import run_and_count

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/venv/bin/python"
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else os.environ["FLOPLEDGER"]
SCRIPT = textwrap.dedent(
    """
    import sys, torch, torch.distributed as dist
    folder, rank = sys.argv[1], int(sys.argv[2])
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    for _ in range(3):
        dist.all_reduce(torch.ones(10))
    work = dist.all_reduce(torch.ones(4), async_op=True) if rank == 0 else None
    import time; time.sleep(1)  # completions are noticed late
    from torch._C import _distributed_c10d as c10d
    open(f"{folder}/nccl_trace_rank_{rank}", "wb").write(c10d._dump_fr_trace())
    open(f"{folder}/as_json_{rank}.json", "wb").write(c10d._dump_fr_trace_json())
    open(f"{folder}/written_{rank}", "w").close()
    import os
    while not os.path.exists(f"{folder}/written_{1 - rank}"):  # an end of one ends the other's call
        time.sleep(0.05)
    os._exit(0)
    """
)


class RecordedDumps(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        if (
            not PYTHON.exists()
            or subprocess.run([PYTHON, "-c", "import torch"], check=False).returncode
        ):
            raise unittest.SkipTest("needs PyTorch in build/venv")
        cls.folder = tempfile.TemporaryDirectory()
        environment = {**os.environ, "TORCH_FR_BUFFER_SIZE": "100"}
        processes = [
            subprocess.Popen(
                [PYTHON, "-c", SCRIPT, cls.folder.name, str(rank)],
                env=environment,
                stderr=subprocess.PIPE,
            )
            for rank in range(2)
        ]
        for process in processes:
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, said.decode()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def report(self, *names: str) -> dict:
        paths = [str(Path(self.folder.name) / name) for name in names]
        done = subprocess.run(
            [PROGRAM, "ranks", "--json", *paths], capture_output=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["ranks"][0]

    def check_fourth(self, *names: str) -> dict:
        section = self.report(*names)["sections"]["hang"]
        causes = section["tables"]["causes"]["rows"]
        self.assertEqual(
            [(row["kind"], row["ranks"], row["number"]) for row in causes], [("stopped", "1", 4)]
        )
        return section

    def test_pickles_name_the_rank_that_did_not_come(self) -> None:
        section = self.check_fourth("nccl_trace_rank_0", "nccl_trace_rank_1")
        self.assertIn("<module>", section["findings"][0]["what"])

    def test_json_dumps_say_the_same(self) -> None:
        self.check_fourth("as_json_0.json", "as_json_1.json")


if __name__ == "__main__":
    run_and_count()
