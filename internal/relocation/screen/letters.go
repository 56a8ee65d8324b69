package screen

import "strings"

// rows is the height of a large letter, columns its width before each dot is doubled.
const rows, columns = 7, 5

// letters are drawn row by row; every other character is a gap.
var letters = map[rune]string{
	'0': ".###.#...##..###.#.###..##...#.###.",
	'1': "..#...##....#....#....#....#...###.",
	'2': ".###.#...#....#...#...#...#...#####",
	'3': "#####...#...#.....#.....##...#.###.",
	'4': "...#...##..#.#.#..#.#####...#....#.",
	'5': "######....####.....#....##...#.###.",
	'6': "..##..#...#....####.#...##...#.###.",
	'7': "#####....#...#...#...#....#....#...",
	'8': ".###.#...##...#.###.#...##...#.###.",
	'9': ".###.#...##...#.####....#...#..##..",
	'A': ".###.#...##...##...#######...##...#",
	'C': ".###.#...##....#....#....#...#.###.",
	'D': "###..#..#.#...##...##...##..#.###..",
	'E': "######....#....####.#....#....#####",
	'H': "#...##...##...#######...##...##...#",
	'I': ".###...#....#....#....#....#...###.",
	'K': "#...##..#.#.#..##...#.#..#..#.#...#",
	'L': "#....#....#....#....#....#....#####",
	'N': "#...###..##.#.##..###...##...##...#",
	'O': ".###.#...##...##...##...##...#.###.",
	'S': ".#####....#.....###.....#....#####.",
	'T': "#####..#....#....#....#....#....#..",
	'W': "#...##...##...##.#.##.#.###.###...#",
	'/': ".........#...#...#...#...#.........",
}

// largeLetters draws a word in letters that are as high as seven lines.
func largeLetters(word string) []string {
	lines := make([]strings.Builder, rows)
	for _, letter := range word {
		for row := range rows {
			for column := range columns {
				dot := "  "
				if drawn := letters[letter]; drawn != "" && drawn[row*columns+column] == '#' {
					dot = "##"
				}
				lines[row].WriteString(dot)
			}
			lines[row].WriteString("  ")
		}
	}
	out := make([]string, rows)
	for i := range lines {
		out[i] = strings.TrimRight(lines[i].String(), " ")
	}
	return out
}
