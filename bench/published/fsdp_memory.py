"""What PyTorch's own tracker counts of FSDP2's memory, without GPUs, for Llama-3-8B as estimates.py plans it.

    python3 bench/published/fsdp_memory.py --gpus N --samples N [--hosts N] [--recompute]

fully_shard by layers under FakeTensorMode and a process group without peers, two steps of AdamW
(torch.distributed._tools.fsdp2_mem_tracker; needs PyTorch and transformers, takes minutes). `--samples` are those of
one GPU; with `--hosts` shards lie within each of these. Prints the peak of the tensors of a GPU by kind, in GiB.
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore
from transformers import AutoConfig, AutoModelForCausalLM

from estimates import LLAMA_3_8B


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, words: torch.Tensor) -> None:
    model(input_ids=words, labels=words).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--recompute", action="store_true")
    options = parser.parse_args()
    torch.distributed.init_process_group("fake", rank=0, world_size=options.gpus, store=FakeStore())
    if options.hosts > 1:
        sizes, names = (options.hosts, options.gpus // options.hosts), ("replicate", "shard")
    else:
        sizes, names = (options.gpus,), ("shard",)
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=names)
    configuration = AutoConfig.for_model(**LLAMA_3_8B)
    with FakeTensorMode():
        model = AutoModelForCausalLM.from_config(configuration, dtype=torch.bfloat16)
        model.train()
        if options.recompute:
            model.gradient_checkpointing_enable()
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        words = torch.zeros(options.samples, 2048, dtype=torch.int64)
        tracker = FSDPMemTracker(model, optimizer)
        tracker.track_inputs((words,))
        with tracker:
            step(model, optimizer, words)
            tracker.reset_mod_stats()  # the optimizer's state is there from now on
            step(model, optimizer, words)
        tracker.display_snapshot("peak", units="GiB")


if __name__ == "__main__":
    main()
