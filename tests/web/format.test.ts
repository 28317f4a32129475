/** How amounts of money are written, and ranges of time read. */
import { expect, test } from 'bun:test'

// The pages ask the browser for its languages when they are loaded.
Object.defineProperty(navigator, 'languages', { value: ['en-US'], configurable: true })
const { formatMoney } = await import('../../web/lib/format.ts')
const { readRange } = await import('../../web/lib/time-range.ts')

test('amounts have two digits behind the point at least, and small ones three that count', () => {
  const cases: [usd: number, text: string][] = [
    [0, '$0.00'],
    [12.5, '$12.50'],
    [1, '$1.00'],
    [0.3, '$0.30'],
    [0.25, '$0.25'],
    [0.4371, '$0.437'],
    [0.02, '$0.02'],
    [0.0321, '$0.0321'],
    [0.0042, '$0.0042'],
    [0.000_024_1, '$0.0000241'],
    [-0.3, '-$0.30'],
  ]
  for (const [usd, text] of cases) expect([usd, formatMoney(usd)]).toEqual([usd, text])
})

test('a range of an address that cannot be read is the last 24 hours', () => {
  const ranges = ['7d', '1000..2000', 'soon', '2000..1000', '1..x', '', 'constructor']
  expect(ranges.map(readRange)).toEqual(['7d', '1000..2000', ...Array(5).fill('24h')])
})
