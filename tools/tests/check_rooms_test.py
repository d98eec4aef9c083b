import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import check_rooms  # noqa: E402
from tree import tree  # noqa: E402


class CheckRooms(unittest.TestCase):
    def test_a_lower_room_is_fine(self):
        self.assertEqual(check_rooms.problems(tree({"steepest/step/a.h": '#include "steepest/base/error.h"\n'})), [])

    def test_a_higher_room(self):
        self.assertEqual(
            check_rooms.problems(tree({"steepest/base/a.h": '#include "steepest/step/b.h"\n'})),
            ["steepest/base/a.h:1: base (0) includes a higher room, step (7)"])

    def test_a_neighbour(self):
        self.assertEqual(
            check_rooms.problems(tree({"steepest/params/a.cpp": '\n#include "steepest/linalg/b.h"\n'})),
            ["steepest/params/a.cpp:2: params (4) includes a neighbouring room, linalg (4)"])

    def test_libtorch_in_a_pure_file(self):
        self.assertEqual(
            check_rooms.problems(tree({"steepest/optimizers/x_options.h": "#include <ATen/core/Tensor.h>\n"})),
            ["steepest/optimizers/x_options.h:1: a pure file includes libtorch (ATen/core/Tensor.h)"])

    def test_the_whole_of_torch(self):
        self.assertEqual(
            check_rooms.problems(tree({"steepest/step/x.h": "#include <torch/torch.h>\n"})),
            ["steepest/step/x.h:1: torch/torch.h belongs to train alone; take narrow headers"])
        self.assertEqual(check_rooms.problems(tree({"steepest/train/x.h": "#include <torch/torch.h>\n"})), [])

    def test_all_of_aten(self):
        for room in ("step", "train"):
            self.assertEqual(
                check_rooms.problems(tree({f"steepest/{room}/x.cpp": "#include <ATen/ATen.h>\n"})),
                [f"steepest/{room}/x.cpp:1: ATen/ATen.h holds all operators; take narrow headers"])
        self.assertEqual(check_rooms.problems(tree({"steepest/step/x.cpp": "#include <ATen/ops/ones.h>\n"})), [])

    def test_tests_take_all_of_torch_for_modules_only(self):
        self.assertEqual(
            check_rooms.problems(tree({"tests/step/x_test.cpp": "#include <torch/torch.h>\ntorch::Tensor t;\n"})),
            ["tests/step/x_test.cpp:1: torch/torch.h is needed for nothing here; take narrow headers"])
        self.assertEqual(
            check_rooms.problems(tree({"bench/x.cpp": "\n#include <ATen/ATen.h>\n"})),
            ["bench/x.cpp:2: ATen/ATen.h is needed for nothing here; take narrow headers"])
        self.assertEqual(
            check_rooms.problems(tree({"tests/step/x_test.cpp": "#include <torch/torch.h>\ntorch::nn::Linear l;\n"})),
            [])

    def test_an_unknown_room(self):
        self.assertEqual(len(check_rooms.problems(tree({"steepest/attic/x.h": ""}))), 1)


if __name__ == "__main__":
    unittest.main()
