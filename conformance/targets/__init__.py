"""Real frameworks as agents under test: one small adapter each. The kit depends on none of them."""
