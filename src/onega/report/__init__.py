"""A site's report: what the load is, how full the machine, what other settings would give.

One call, `site_report`, asks all the questions of a log; the answers become one page (layer: app).
"""

from onega.report.site import SiteReport, site_report

__all__ = ["SiteReport", "site_report"]
