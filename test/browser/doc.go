// Package browser drives a headless Chromium in tests, as a person does who has a keyboard and eyes: pages are opened, keys are
// pressed, and what a page shows is awaited and held against rules for every reader.
//
// Tests of the page of a relocation use it, beside a page in memory and on a lab node. No program may import it.
package browser
