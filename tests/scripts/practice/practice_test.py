"""Tables of practitioners, with what `troupe init` writes and nothing else: as good as scikit-learn on the same rows.

    /usr/bin/python3 tests/scripts/practice/practice_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...

PEERS are the best linear model and MLP of practice_peers.py, which makes the same tables and trains on the same rows.
"""

import sys

sys.path.insert(0, f"{sys.path[0]}/..")
from command import CommandTest, main

try:
    import numpy  # noqa: F401, the tables are made with it
    import sklearn  # noqa: F401
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)
import practice_peers
import practice_tables

# Table: figure of the best of LogisticRegression or Ridge and MLP(32) by practice_peers.py (Python 3.11, scikit-learn 1.2.1).
PEERS = {
    "churn": {"auc": 0.8504, "accuracy": 0.9699},
    "products": {"accuracy": 0.9387},
    "breast_cancer": {"auc": 0.9984, "accuracy": 0.9823},
    "wine": {"accuracy": 0.9714},
    "iris": {"accuracy": 0.9333},
    "digits": {"accuracy": 0.96657},
    "houses": {"r2": 0.9440},
    "diabetes": {"r2": 0.5227},
}
BELOW_MAX = 0.005
PRICES_R2_MIN = 0.92


class Practice(CommandTest):
    def setUp(self):
        super().setUp()
        practice_tables.main(self.folder)
        practice_peers.write_real(self.folder)

    def test_what_init_writes_is_as_good_as_scikit_learn(self):
        for table, peers in PEERS.items():
            self.troupe("init", f"{table}_train.csv", "-o", f"{table}.toml")
            self.troupe("train", f"{table}.toml", "--quiet")
            judged = self.result_of("evaluate", f"runs/{table}/model.safetensors", f"{table}_test.csv")
            for figure, best in peers.items():
                # Of some hundred rows two more or less are by chance.
                below_max = max(BELOW_MAX, 2.001 / judged["rows"] if figure == "accuracy" else 0)
                self.assertGreaterEqual(judged[figure], best - below_max, (table, figure, judged[figure]))
            if table == "houses":
                self.assertGreaterEqual(judged["r2"], PRICES_R2_MIN)


if __name__ == "__main__":
    main()
