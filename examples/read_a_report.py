"""Reads a trace, and says where the time went: read_a_report.py TRACE"""

import sys

import flopledger as fl


def main(trace: str) -> None:
    report: fl.Report = fl.report(trace)
    print(report.headline)
    for account in report.ledger:
        time = "not known" if account["mean"] is None else f"{account['mean'] / 1e6:.3f} ms a step"
        print(f"{'  ' * account['depth']}{account['account']}: {time}")
    for operator in report.operators[:3]:
        print(f"{operator['operator']}: {operator['calls']} calls")
    for finding in report.findings:
        if finding.cost_ns_per_step is not None:
            print(f"{finding.what}: {finding.cost_ns_per_step / 1e6:.3f} ms a step; {finding.try_}")
    try:
        print(f"MFU {100 * report.mfu:.1f} %")
    except fl.NotKnown as error:
        print(f"the MFU is not known: {error}")


if __name__ == "__main__":
    main(sys.argv[1])
