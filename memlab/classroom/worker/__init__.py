"""Code that runs inside the confined process, with a submission; it knows no answer."""
