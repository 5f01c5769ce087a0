"""Build of the site: every lesson as a web page in which memlab runs."""
