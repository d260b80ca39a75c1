// Readlog checks a project's log with Go's own implementation of transparency logs, the one that guards Go modules.
//
//	readlog <log> <vkey> [-since old.checkpoint] [receipt.json ...]
//
// <log> is where checkpoint and tiles are served, an address or a folder. It checks the checkpoint's signature, that
// every tile hashes up to its root, every record under its tile, inclusion of every record, consistency with every
// smaller size (or every prime-numbered one, past 64), the chain of entries inside the records, the checkpoint
// given with -since, and receipts held by a client. Exit 0 only if all of it holds.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	since := flag.String("since", "", "a checkpoint that was kept: the log must have grown from it")
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "readlog <log> <vkey> [-since old.checkpoint] [receipt.json ...]")
		os.Exit(2)
	}
	place, vkey := os.Args[1], os.Args[2]
	if err := flag.CommandLine.Parse(os.Args[3:]); err != nil {
		os.Exit(2)
	}
	if err := check(place, vkey, *since, flag.Args()); err != nil {
		fmt.Println("REFUSED", err)
		os.Exit(1)
	}
}

func check(place, vkey, since string, receipts []string) error {
	log, err := openLog(place, vkey)
	if err != nil {
		return err
	}
	records, err := log.records()
	if err != nil {
		return err
	}
	if err := log.checkInclusion(records); err != nil {
		return err
	}
	sizes, err := log.checkConsistency()
	if err != nil {
		return err
	}
	entries, err := checkChain(records)
	if err != nil {
		return err
	}
	if since != "" {
		if err := log.checkSince(since); err != nil {
			return fmt.Errorf("%s: %w", since, err)
		}
	}
	for _, receipt := range receipts {
		if err := log.checkReceipt(receipt, records); err != nil {
			return fmt.Errorf("%s: %w", receipt, err)
		}
	}
	if len(records) == 0 {
		return errors.New("the log is empty: nothing was checked")
	}
	fmt.Printf("ACCEPTED %d records, %d of them chained, %d older sizes, %d receipts\n",
		len(records), entries, sizes, len(receipts))
	return nil
}
