/** Tables for spreadsheets: what others have written must stay a text in them. */
import { expect, test } from 'bun:test'
import { csvText } from '../../web/lib/csv.ts'

/** The cells of a line as Excel or LibreOffice reads them where this character separates cells. */
const cellsBy = (separator: string, line: string) => line.replace(/^"|"$/g, '').replaceAll('""', '"').split(separator)

test('a formula at the beginning of a text becomes a text', () => {
  for (const start of ['=', '+', '-', '@', '\t=', '\r=', '\n=', '\uff1d', '\uff0b', '\uff0d', '\uff20'])
    expect([start, csvText([[`${start}1+1`]]).replace(/^"/, '')[0]]).toEqual([start, "'"])
})

test('no part of a text is a formula where a semicolon or a tab parts cells', () => {
  for (const separator of [';', '\t'])
    for (const start of ['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20']) {
      const [line] = csvText([[`name${separator}${start}cmd|' /C calc'!A0`]]).split('\r\n')
      expect(cellsBy(separator, line!)).toEqual(['name', `'${start}cmd|' /C calc'!A0`])
    }
  // Each separator of a row of them is the beginning of a cell.
  expect(csvText([['a;;=1']])).toBe("a;;'=1\r\n")
  expect(csvText([['a;\t=1']])).toBe("a;'\t'=1\r\n")
})

test('numbers and harmless texts stay as they are; quotes, commas and line ends are quoted', () => {
  expect(csvText([['a-b; c', 'x=1', -5, 0.5]])).toBe('a-b; c,x=1,-5,0.5\r\n')
  expect(csvText([['a,b', 'say "hi"', 'two\nlines']])).toBe('"a,b","say ""hi""","two\nlines"\r\n')
})
