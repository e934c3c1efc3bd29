"""The fake model on its own: sessions that stand without a runner, their journals, and the route that controls them."""
