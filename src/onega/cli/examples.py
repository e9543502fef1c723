"""Examples at the end of every command's help."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "describe": (
        ("onega describe jobs.swf.gz", "one screen: load, sizes, users, daily cycle"),
        ("onega describe sacct.csv --procs 4096 --figures out", "a Slurm log, with pictures"),
    ),
    "convert": (
        ("onega convert sacct.csv jobs.swf --clean", "Slurm to SWF; what was cleaned is reported"),
        ("onega convert jobs.swf.gz jobs.parquet", "the format is the file's name"),
    ),
    "archive list": (("onega archive list", "logs of the Parallel Workloads Archive"),),
    "archive get": (("onega archive get KTH-SP2", "fetch one, checked"),),
    "fit": (
        ("onega fit markov jobs.swf.gz -o model.json", "correlated Markov chains"),
        ("onega fit lublin jobs.swf.gz -o model.json --seed 1", "Lublin and Feitelson's model"),
    ),
    "sample": (
        ("onega sample model.json -n 10000 -o more.swf --seed 1", "ten thousand jobs, repeatable"),
        ("onega sample lublin -n 5000 --procs 128 --load 0.7 -o jobs.swf", "jobs without a log"),
    ),
    "compose": (
        ("onega compose jobs.json --arrivals other.json -o both.json", "jobs here, arrivals there"),
    ),
    "resample": (
        ("onega resample jobs.swf.gz -o again.swf --seed 1", "its weeks drawn anew"),
        ("onega resample jobs.swf.gz -o more.swf --by users --load 1.2", "more users"),
    ),
    "recover": (
        ("onega recover jobs.swf.gz -o full.swf", "missing estimates drawn like the others"),
        ("onega recover jobs.swf.gz -o full.swf --learn-from kth.swf.gz", "like another log's"),
    ),
    "compare": (
        ("onega compare jobs.swf.gz more.swf", "how alike the two are"),
        ("onega compare jobs.swf.gz --models markov,lublin --replicates 20", "models, fitted"),
    ),
    "simulate": (
        ("onega simulate jobs.swf.gz --policy easy", "the same jobs under EASY backfilling"),
        ("onega simulate jobs.swf.gz --procs 512 --policy spf+easy --out run", "files in run/"),
        ("onega simulate jobs.swf.gz --policy easy --cluster cluster.toml --json", "for programs"),
        ("onega simulate jobs.swf.gz --policy easy --events events.csv --out run", "with failures"),
        ("onega simulate jobs.swf.gz --policy easy --moldable 'amdahl(0.05, most=16)'", "moldable"),
    ),
    "golden": (
        ("onega golden jobs.swf.gz --policy easy -o easy.golden", "starts and ends, job by job"),
        ("onega golden jobs.swf.gz --policy easy --check theirs.txt", "hold a program against it"),
    ),
    "cluster init": (
        ("onega cluster init cluster.toml", "every setting, commented, switched off"),
    ),
    "cluster check": (
        ("onega cluster check cluster.toml jobs.swf.gz", "which jobs don't fit, and why"),
    ),
    "compare-policies": (
        (
            "onega compare-policies jobs.swf.gz",
            "fcfs, easy, spf+easy, conservative, with intervals",
        ),
        ("onega compare-policies jobs.swf.gz --policies easy,wfp3+easy --figures out", "two"),
    ),
    "plan": (
        ('onega plan jobs.swf.gz --target "p95(wait)<1h"', "the fewest processors that meet it"),
        (
            'onega plan jobs.swf.gz --target "p95(wait)<4h" --vary load --policy easy',
            "how much more work the machine can take",
        ),
    ),
    "sweep": (
        ("onega sweep sweep.toml -o runs --dry-run", "how many simulations, and how long"),
        ("onega sweep sweep.toml -o runs --table runs.csv", "make them; again to go on"),
        ("onega sweep --status runs", "how far it is"),
    ),
    "groups": (("onega groups jobs.swf.gz", "users in groups that are alike"),),
    "feedback": (("onega feedback jobs.swf.gz", "do users react to the queue?"),),
    "closed-loop": (("onega closed-loop jobs.swf.gz --policy easy", "users wait for answers"),),
    "adequacy": (
        ("onega adequacy real.swf model.swf", "how far the model's schedule is from the real one"),
        ("onega adequacy sacct.csv --simulate easy --procs 4096", "a site's log against EASY"),
    ),
    "virtual": (
        ("onega virtual jobs.swf --procs 100 --speed 20 --repeat 2 -o run", "a real Slurm, twice"),
    ),
    "hysteresis": (
        (
            "onega hysteresis --procs 4 --arrival-rate 3 --mean-runtime 1 --rates 1,2 --k-low 2 "
            "--k-high 5 --power-busy 2,5 --power-idle 1,1.5",
            "power and jobs of a clock that follows the queue",
        ),
    ),
    "stability": (
        ("onega stability jobs.swf.gz --procs 512", "does first come, first served keep up?"),
        (
            "onega stability --classes 0.5,0.3,0.2 --procs 3 --arrival-rate 1 --mean-runtime 1",
            "from probabilities of the widths 1, 2, 3",
        ),
    ),
    "limits": (
        (
            "onega limits --arrival-rate 2 --service-rate 1 --limit-rate 0.1 --widths 1:0.5,2:0.5",
            "how many are busy, how many are cut off",
        ),
    ),
    "serve": (
        ("onega serve", "the page, on this machine only"),
        ("onega serve --host 0.0.0.0", "for others too, with the token that it prints"),
        ("onega serve --get /api/runs", "one answer of the page, without a port"),
    ),
    "report": (
        ("onega report jobs.swf.gz -o report.html", "one page for those who run the machine"),
        ("onega report sacct.csv model.json --procs 4096 -o report.html", "with a fitted model"),
        ("onega report jobs.swf.gz --format md", "Markdown on the screen, for a pull request"),
    ),
    "reproduce song": (
        (
            "onega reproduce song KTH-SP2-1996-2.1-cln.swf.gz -o song.html",
            "one of the thesis's logs",
        ),
        ("onega reproduce song sacct.csv -o song.html", "the same measures of a log of your own"),
    ),
    "reproduce rumyantsev-2014": (
        ("onega reproduce rumyantsev-2014 KTH-SP2-1996-2.1-cln.swf.gz", "formulas, and on a log"),
    ),
    "reproduce rumyantsev-2018": (
        ("onega reproduce rumyantsev-2018 krc2.csv.gz -o krc.html", "figures 1 to 3"),
    ),
    "reproduce limits": (("onega reproduce limits -o limits.html", "no log is needed"),),
    "reproduce adequacy": (
        ("onega reproduce adequacy run", "a folder that `onega virtual --repeat 2 -o run` wrote"),
        ("onega reproduce adequacy real.swf again.swf --models easy", "two logs of one stream"),
    ),
    "reproduce models": (
        (
            "onega reproduce models jobs.swf.gz --halves -o judged",
            "all models beside a log, ten samples each",
        ),
        (
            "onega reproduce models jobs.swf.gz --models site --trace GAN=made.swf",
            "one model, and what another program has made",
        ),
    ),
    "demo": (("onega demo", "the main questions on made-up jobs"),),
}
"""Command → (what to type, what it does). File names stand for the reader's own."""


def epilog(name: str) -> str | None:
    """Return the examples of a command as the end of its help."""
    found = EXAMPLES.get(name)
    if not found:
        return None
    lines = [f"[green]$ {line}[/green]  [dim]# {why}[/dim]" for line, why in found]
    return "\n\n".join(["[bold]Examples[/bold]", *lines])
