/** The German texts of the pages say "du" throughout. */
import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const web = join(import.meta.dir, '../../web')

test('no German text addresses people formally', async () => {
  const files = [
    'strings/de.json',
    'strings/refusals-de.json',
    ...readdirSync(join(web, 'pages')).flatMap(name => (name.endsWith('.page.ts') ? [`pages/${name}`] : [])),
  ]
  const found: string[] = []
  // A capital in the middle of a sentence; "sie" and "ihr" are others.
  for (const file of files)
    for (const line of (await Bun.file(join(web, file)).text()).split('\n'))
      if (/[a-zäöüß,] (Sie|Ihnen|Ihr(e[mnrs]?)?)\b/.test(line)) found.push(`${file}: ${line.trim()}`)
  expect(found).toEqual([])
})
