"""Running OneClaw on a machine: what `up` starts and watches, and who else is there where several run."""
