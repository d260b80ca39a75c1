package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// checkInclusion proves each record under the root, from tiles that were checked against it.
func (l *log) checkInclusion(records [][]byte) error {
	for i, record := range records {
		proof, err := tlog.ProveRecord(l.tree.N, int64(i), l.hashes)
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		if err := tlog.CheckRecord(proof, l.tree.N, l.tree.Hash, int64(i), tlog.RecordHash(record)); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	return nil
}

// checkConsistency proves smaller trees to be prefixes; it returns how many.
func (l *log) checkConsistency() (int, error) {
	checked := 0
	for n := int64(1); n < l.tree.N; n++ {
		if n > 64 && !prime(n) {
			continue
		}
		root, err := tlog.TreeHash(n, l.hashes)
		if err != nil {
			return checked, fmt.Errorf("size %d: %w", n, err)
		}
		if err := l.grewFrom(tlog.Tree{N: n, Hash: root}); err != nil {
			return checked, fmt.Errorf("size %d: %w", n, err)
		}
		checked++
	}
	return checked, nil
}

func prime(n int64) bool {
	for d := int64(2); d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return true
}

func (l *log) grewFrom(old tlog.Tree) error {
	if old.N > l.tree.N {
		return fmt.Errorf("the log has %d records and once had %d", l.tree.N, old.N)
	}
	proof, err := tlog.ProveTree(l.tree.N, old.N, l.hashes)
	if err != nil {
		return err
	}
	return tlog.CheckTree(proof, l.tree.N, l.tree.Hash, old.N, old.Hash)
}

func (l *log) checkSince(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	old, err := l.checkpoint(text)
	if err != nil {
		return err
	}
	return l.grewFrom(old)
}

// checkChain follows seq and prev through records that are entries; others (the log's test vectors) are not.
func checkChain(records [][]byte) (int, error) {
	chained := 0
	prev := ""
	for i, record := range records {
		var entry struct {
			V       int
			Project string
			Seq     int
			Prev    string
		}
		if err := json.Unmarshal(record, &entry); err != nil || entry.V == 0 {
			continue
		}
		if i == 0 {
			prev = digest([]byte("counterfoil/genesis/v1\n" + entry.Project))
		}
		if entry.V != 1 || entry.Seq != i || entry.Prev != prev {
			return chained, fmt.Errorf("record %d is not entry %d after %s", i, i, prev)
		}
		prev = digest(record)
		chained++
	}
	return chained, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkReceipt proves that what a client holds stands in the log as it is now.
func (l *log) checkReceipt(file string, records [][]byte) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	proof := string(text)
	var receipt struct{ Proof string }
	if json.Unmarshal(text, &receipt) == nil {
		proof = receipt.Proof
	}
	head, checkpoint, found := strings.Cut(proof, "\n\n")
	lines := strings.Split(head, "\n")
	if !found || len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return errors.New("is not a tlog-proof")
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	if err != nil {
		return err
	}
	var path tlog.RecordProof
	for _, line := range lines[2:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return err
		}
		path = append(path, hash)
	}
	tree, err := l.checkpoint([]byte(checkpoint))
	if err != nil {
		return err
	}
	if index >= int64(len(records)) {
		return fmt.Errorf("the log has %d records and none of index %d", len(records), index)
	}
	if err := tlog.CheckRecord(path, tree.N, tree.Hash, index, tlog.RecordHash(records[index])); err != nil {
		return err
	}
	if tree.N > l.tree.N {
		return nil // The log is published a moment after its receipts.
	}
	if bytes.Equal(tree.Hash[:], l.tree.Hash[:]) {
		return nil
	}
	return l.grewFrom(tree)
}
