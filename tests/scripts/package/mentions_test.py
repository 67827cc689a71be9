"""What counts as naming a path of the machine that something was built on."""

import os
import sys
import unittest

from mentions import named


class Mentions(unittest.TestCase):
    def test_a_path_is_named_where_it_stands_whole(self):
        for path in ("/work", "/root/a b", "/root/größe"):
            pattern = named([path, "/elsewhere"])
            for text in (f'set(X "{path}")', f"\0{path}/models/x.hpp\0", f"-I{path}/include",
                         f"{path}", f"a;{path};b", "in /elsewhere\n"):
                self.assertTrue(pattern.search(os.fsencode(text)), text)
            for text in (f'"coordinators{path}_book.hpp"', f"{path}shop", f"{path}_book",
                         f"usr{path}"):
                self.assertFalse(pattern.search(os.fsencode(text)), text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
