package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Tiles are eight levels high: 256 hashes.
const height = 8

// A log as it is served, under a checkpoint whose signature held.
type log struct {
	place    string
	verifier note.Verifier
	tree     tlog.Tree
	hashes   tlog.HashReader
}

func openLog(place, vkey string) (*log, error) {
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return nil, fmt.Errorf("vkey: %w", err)
	}
	l := &log{place: strings.TrimSuffix(place, "/"), verifier: verifier}
	text, err := l.get("checkpoint")
	if err != nil {
		return nil, err
	}
	l.tree, err = l.checkpoint(text)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	l.hashes = tlog.TileHashReader(l.tree, l)
	return l, nil
}

// checkpoint believes a note only if the pinned key signed it under the log's own name.
func (l *log) checkpoint(text []byte) (tlog.Tree, error) {
	signed, err := note.Open(text, note.VerifierList(l.verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) < 4 || lines[0] != l.verifier.Name() {
		return tlog.Tree{}, fmt.Errorf("does not read as origin %s, size, root", l.verifier.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || strconv.FormatInt(size, 10) != lines[1] || size < 0 {
		return tlog.Tree{}, fmt.Errorf("size %q", lines[1])
	}
	root, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: root}, err
}

// Height, ReadTiles and SaveTiles are what tlog asks of a source of tiles. It checks each tile before it uses it.
func (l *log) Height() int { return height }

func (l *log) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range tiles {
		// Go's own database spells the height out; C2SP tlog-tiles fixes it and leaves it out.
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data, err := l.get(path)
		if err != nil {
			return nil, err
		}
		if len(data) != tile.W*tlog.HashSize {
			return nil, fmt.Errorf("%s: %d bytes, not %d", path, len(data), tile.W*tlog.HashSize)
		}
		found = append(found, data)
	}
	return found, nil
}

func (l *log) SaveTiles([]tlog.Tile, [][]byte) {}

// records reads every entry bundle: a big-endian length of two bytes before each record.
func (l *log) records() ([][]byte, error) {
	var records [][]byte
	for first := int64(0); first < l.tree.N; first += 1 << height {
		width := l.tree.N - first
		if width > 1<<height {
			width = 1 << height
		}
		tile := tlog.Tile{H: height, L: 0, N: first >> height, W: int(width)}
		path := strings.Replace(tile.Path(), "tile/8/0/", "tile/entries/", 1)
		bundle, err := l.get(path)
		if err != nil {
			return nil, err
		}
		for i := int64(0); i < width; i++ {
			if len(bundle) < 2 {
				return nil, fmt.Errorf("%s: ends after %d records", path, i)
			}
			size := int(binary.BigEndian.Uint16(bundle))
			if len(bundle) < 2+size {
				return nil, fmt.Errorf("%s: record %d is cut short", path, i)
			}
			records = append(records, bundle[2:2+size])
			bundle = bundle[2+size:]
		}
		if len(bundle) != 0 {
			return nil, fmt.Errorf("%s: %d bytes after the last record", path, len(bundle))
		}
	}
	return records, nil
}

func (l *log) get(path string) ([]byte, error) {
	if !strings.Contains(l.place, "://") {
		return os.ReadFile(filepath.Join(l.place, path))
	}
	answer, err := http.Get(l.place + "/" + path)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, answer.Status)
	}
	want := "application/octet-stream"
	if path == "checkpoint" {
		want = "text/plain; charset=utf-8"
	}
	if found := answer.Header.Get("Content-Type"); found != want {
		return nil, fmt.Errorf("%s is served as %q, not %q", path, found, want)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 32<<20))
	if err == nil && len(body) == 0 {
		err = errors.New(path + " is empty")
	}
	return body, err
}
