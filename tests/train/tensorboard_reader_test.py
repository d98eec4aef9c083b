#!/usr/bin/env python3
"""TensorBoard's own reader finds in a run's event files what metrics.jsonl holds, value by value.
Usage: tensorboard_reader_test.py PROGRAM [PYTHON_WITH_TENSORBOARD]"""
import json
import os
import struct
import subprocess
import sys
import tempfile

if len(sys.argv) > 2 and os.access(sys.argv[2], os.X_OK):
    os.execv(sys.argv[2], [sys.argv[2], *sys.argv[:2]])
try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    sys.exit("PyPI's tensorboard is missing: `./run test` puts it into .venv-test, or set STEEPEST_TEST_PYTHON to a "
             "Python that has it")

RECIPE = """
seed: 3
model: {type: gpt, layers: 1, width: 16, heads: 2, context: 16}
dataset: {path: text.txt, validation_fraction: 0.2, validation_windows: 4}
optimizer: {_target_: torch.optim.AdamW, lr: 0.004}
step_scheduler: {global_batch_size: 2, max_steps: 7, val_every_steps: 3, ckpt_every_steps: 4, log_every_steps: 1}
"""


def fp32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def train(program, folder):
    subprocess.run([program, "train", "recipe.yaml", "--out", "run"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def scalars_of(folder):
    reader = EventAccumulator(folder, size_guidance={"scalars": 0})
    reader.Reload()
    return {(tag, event.step): event.value for tag in reader.Tags()["scalars"] for event in reader.Scalars(tag)}


def metrics_of(folder):
    found = {}
    with open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8") as file:
        for line in file:
            values = json.loads(line)
            step = values.pop("step")
            # Events hold fp32.
            found.update({(tag, step): fp32(value) for tag, value in values.items()})
    return found


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "text.txt"), "w", encoding="utf-8") as file:
            file.write("the quick brown fox jumps over the lazy dog\n" * 60)
        with open(os.path.join(folder, "recipe.yaml"), "w", encoding="utf-8") as file:
            file.write(RECIPE)
        train(program, folder)
        run = os.path.join(folder, "run")
        events, metrics = scalars_of(run), metrics_of(run)
        assert metrics, "the run left no metrics"
        for tag in ("loss", "val_loss", "lr", "wd", "grad_norm", "tokens", "tokens_per_second", "optimizer_ms",
                    "skipped"):
            assert any(known == tag for known, _ in metrics), f"no metric {tag}"
        assert events == metrics, {"in one alone": sorted(set(events.items()) ^ set(metrics.items()))}
        print(f"{len(events)} scalars agree")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
