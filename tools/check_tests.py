#!/usr/bin/env python3
"""Fails when a source file has no test of its name: steepest/<room>/x.h or x.cpp wants tests/<room>/x_test.cpp, unless
tools/untested.txt states a reason ("steepest/room/x: reason"). Usage: check_tests.py [ROOT]"""
import os
import sys


def problems(root):
    reasons = {}
    listed = os.path.join(root, "tools", "untested.txt")
    found = []
    if os.path.exists(listed):
        with open(listed, encoding="utf-8") as file:
            for line in file:
                line = line.strip()
                if not line or line.startswith("#"):
                    continue
                path, colon, reason = line.partition(":")
                if not colon or not reason.strip():
                    found.append(f"tools/untested.txt: {path} has no reason")
                reasons[path.strip()] = reason.strip()
    used = set()
    stems = set()
    top = os.path.join(root, "steepest")
    for folder, _, files in os.walk(top):
        room = os.path.relpath(folder, top)
        if room == ".":
            continue
        for name in files:
            if name.endswith((".h", ".cpp")):
                stems.add(f"{room}/{os.path.splitext(name)[0]}".replace(os.sep, "/"))
    for stem in sorted(stems):
        if os.path.exists(os.path.join(root, "tests", f"{stem}_test.cpp")):
            continue
        key = f"steepest/{stem}"
        if key in reasons:
            used.add(key)
            continue
        found.append(f"{key}: no tests/{stem}_test.cpp, and no reason in tools/untested.txt")
    for key in sorted(set(reasons) - used):
        found.append(f"tools/untested.txt: {key} has a test, or does not exist any more")
    return found


if __name__ == "__main__":
    result = problems(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for each in result:
        print(each)
    sys.exit(1 if result else 0)
