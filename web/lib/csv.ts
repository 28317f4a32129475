/** Tables for spreadsheets. */

/**
 * Where spreadsheets run what follows: at the beginning of a text, and behind a semicolon or a tab, which part cells
 * where the comma is that of decimals. An apostrophe keeps it a text. The last four are wide forms of the first.
 */
const formulas = /(^|[;\t])(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])/g

/** A text of others, a number, or a number that is written already, with more digits than doubles have. */
type Cell = string | number | { readonly number: string }

function cell(value: Cell): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'object') return value.number
  const text = value.replace(formulas, (_all, start: string) => `${start}'`)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** RFC 4180. Texts of others cannot become formulas. */
export const csvText = (rows: readonly (readonly Cell[])[]): string =>
  rows.map(row => `${row.map(cell).join(',')}\r\n`).join('')

/** Hands a file to the browser, which stores it. */
export function download(name: string, text: string, type = 'text/csv'): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
