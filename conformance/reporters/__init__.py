"""Reports as text, one module per form. They decide nothing and write nowhere."""
