"""Generator of the static pages of the site, and what it takes to serve and to carry them."""
