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

    def test_an_unknown_room(self):
        self.assertEqual(len(check_rooms.problems(tree({"steepest/attic/x.h": ""}))), 1)


if __name__ == "__main__":
    unittest.main()
