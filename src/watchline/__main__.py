from watchline.cli import cli

cli(prog_name="watchline")
