#!/usr/bin/env python3
"""Trains the built-in recipes in every precision and prints a table of their last losses, as docs/precision.md has it.
Usage: precision_table.py [PROGRAM [FOLDER [RECIPE...]]]; runs of FOLDER that are finished are not made again."""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRECISIONS = {
    "float32": "{}",
    "bfloat16, masters float32": "{weights: bfloat16}",
    "bfloat16, masters remainder": "{weights: bfloat16, masters: remainder}",
    "bfloat16, masters 24bit, states int8": "{weights: bfloat16, masters: 24bit, states: int8}",
    "bfloat16 alone, stochastic rounding": "{weights: bfloat16, stochastic_rounding: true}",
    "bfloat16 alone, rounded to nearest": "{weights: bfloat16, masters: none}",
    "float16, masters float32, dynamic loss scale": "{weights: float16, initial_loss_scale: 65536}",
}


def last_losses(program, recipe, name, precision, folder):
    run = os.path.join(folder, f"{os.path.basename(recipe)}-{name}".replace(" ", "-").replace(",", ""))
    subprocess.run([program, "train", recipe, "--set", f"precision={precision}", "--out", run, "--resume"], check=True,
                   cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
        last = json.loads(file.readlines()[-1])
    return last["val_loss"], last.get("loss_scale"), last["skipped"]


def main(program, folder, recipes):
    print("| precision | " + " | ".join(os.path.basename(each) for each in recipes) + " |")
    print("|---" * (len(recipes) + 1) + "|")
    for name, precision in PRECISIONS.items():
        cells = []
        for recipe in recipes:
            loss, scale, skipped = last_losses(program, recipe, name, precision, folder)
            cells.append(f"{loss:.4f}" + (f" (scale {scale:.0f}, {skipped} skipped)" if scale else ""))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(os.path.abspath(arguments[0]) if arguments else os.path.join(ROOT, "build/release/bin/steepest"),
         os.path.abspath(arguments[1]) if len(arguments) > 1 else os.path.join(ROOT, "runs/precision"),
         arguments[2:] or [os.path.join(ROOT, "recipes", each) for each in ("gpt.yaml", "gpt-adamw.yaml")])
