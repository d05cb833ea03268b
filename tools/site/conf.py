"""Settings of the site's generator."""

project = "nomad-stateful"
extensions = ["myst_parser"]
root_doc = "README"
html_theme = "furo"
html_title = "nomad-stateful"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "home.html"}
templates_path = ["templates"]
html_show_sphinx = False
html_copy_source = False
# As GitHub names headings.
myst_heading_anchors = 6
pygments_dark_style = "github-dark"
highlight_options = {"default": {"stripall": True}}
