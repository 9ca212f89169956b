"""What DeepSpeed's flops profiler prints of a golden model: deepspeed_profile.py NAME [engine]

By get_model_profile; with "engine", of a training step, which it prints more of.
"""

import os
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": os.environ.get("DS_TEST_PORT", "29611")}
os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "DS_ACCELERATOR": "cpu"}

import deepspeed
import deepspeed.comm
import torch
from deepspeed.profiling.flops_profiler import get_model_profile
from golden_models import MODELS

torch.manual_seed(0)
case = MODELS[sys.argv[1]]()
if sys.argv[2:] == ["engine"]:
    # else it compiles an extension for its communication, which one process has no need of
    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None
    deepspeed.init_distributed(dist_backend="gloo")
    batch = len(case.arguments[0])
    settings = {"enabled": True, "profile_step": 1, "top_modules": 3}
    engine, *_ = deepspeed.initialize(
        model=case.model,
        optimizer=torch.optim.SGD(case.model.parameters(), lr=0.0),
        config={"train_micro_batch_size_per_gpu": batch, "flops_profiler": settings},
    )
    for _ in range(3):
        loss = engine(*case.arguments).sum()
        engine.backward(loss)
        engine.step()
else:
    get_model_profile(case.model, args=case.arguments, kwargs=case.keywords, top_modules=3)
# Past what Python does at its end: a thread of Gloo's that lets go of the last all-reduce meanwhile aborts the process
sys.stdout.flush()
os._exit(0)
