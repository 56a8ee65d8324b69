package volumes

import "io/fs"

// detectRock looks for the SP field in the root folder's record of itself (IEEE P1281, 5.3).
func (i *iso) detectRock(entries []byte) {
	if len(entries) < 34+7 || int(entries[0]) < 34+7 || int(entries[0]) > len(entries) {
		return
	}
	sp := entries[34:entries[0]]
	if string(sp[:2]) == "SP" && sp[4] == 0xbe && sp[5] == 0xef {
		i.rock, i.skip = true, int(sp[6])
	}
}

// maxContinued bounds how often the fields of a record go on elsewhere.
const maxContinued = 4

// rockName reads NM (the name), SL (a link) and PX (the mode) of a record.
func (i *iso) rockName(record []byte) (name string, mode fs.FileMode) {
	at := 33 + int(record[32])
	at += at & 1 // an even identifier is followed by a pad byte
	at += i.skip
	if at > len(record) {
		return "", 0
	}
	fields := record[at:]
	for range maxContinued {
		var more []byte
		for len(fields) >= 4 && int(fields[2]) >= 4 && int(fields[2]) <= len(fields) {
			f := fields[:fields[2]]
			fields = fields[fields[2]:]
			switch kind := string(f[:2]); {
			case kind == "NM" && len(f) > 5 && f[4]&0x06 == 0:
				name += string(f[5:])
			case kind == "SL":
				mode = fs.ModeSymlink
			case kind == "PX" && len(f) >= 8 && mode == 0:
				mode = specialMode(le.Uint32(f[4:]))
			case kind == "CE" && len(f) >= 28:
				more = i.readContinued(f)
			}
		}
		if more == nil {
			break
		}
		fields = more
	}
	return name, mode
}

// specialMode is 0 for regular files and folders.
func specialMode(mode uint32) fs.FileMode {
	switch mode & 0o170000 {
	case 0o100000, 0o040000, 0:
		return 0
	case 0o120000:
		return fs.ModeSymlink
	}
	return fs.ModeDevice
}

func (i *iso) readContinued(f []byte) []byte {
	block, offset, length := le.Uint32(f[4:]), le.Uint32(f[12:]), le.Uint32(f[20:])
	if length > isoSector || offset > isoSector {
		return nil
	}
	if i.budget.spendBytes(&i.budget.folders, int64(length)) != nil {
		return nil
	}
	out := make([]byte, length)
	if _, err := i.r.ReadAt(out, int64(block)*isoSector+int64(offset)); err != nil {
		return nil
	}
	return out
}
