/** The repository stands alone: nothing in it reads, imports or mentions a path outside of it. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dir, '..')
const notOurs = /(^|\/)node_modules(\/|$)|^(dist|data|\.git|\.modelgate)(\/|$)|^tests\/bench\/results\/|\.log$/
const files = [...new Glob('**/*').scanSync({ cwd: root, dot: true })].filter(file => !notOurs.test(file)).sort()
const texts = new Map(files.map(file => [file, readFileSync(join(root, file), 'utf8')]))

test('no quoted relative path leads out of the repository', () => {
  const wrong: string[] = []
  // Recipes in Markdown quote imports of other files.
  for (const [file, text] of texts)
    if (!file.endsWith('.md'))
      for (const [, path] of text.matchAll(/['"`]((?:\.\.?\/)+[\w@.-][^'"`\s]*)/g)) {
        const target = resolve(root, dirname(file), path!)
        if (target !== root && !target.startsWith(`${root}/`)) wrong.push(`${file}: ${path}`)
      }
  expect(wrong).toEqual([])
})

test('no file names a folder of one machine', () => {
  // `/Users/1` alone is a path of SCIM.
  const folders = /(?<![\w.$}/-])\/(?:(?:work|root|mnt|srv)\/[\w.-]|Users\/\w+\/)/
  const wrong = [...texts].filter(([, text]) => folders.test(text)).map(([file]) => file)
  expect(wrong).toEqual([])
})

test('the checks find what they look for', () => {
  expect(files).toContain('tests/stand-alone.test.ts')
  expect(files).toContain('.ci/run')
  expect(files.length).toBeGreaterThan(500)
})
