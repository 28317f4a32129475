/** Tests that write into the repository are found out. */
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { changesOfTree } from './tree.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-tree-'))
afterAll(() => rmSync(folder, { recursive: true }))

const git = (...words: string[]) => {
  const { success, stderr } = Bun.spawnSync(['git', '-c', 'user.name=x', '-c', 'user.email=x@y', ...words], {
    cwd: folder,
  })
  if (!success) throw new Error(stderr.toString())
}

test('changed, new and ignored files are told, but not what the commands of the project make', () => {
  git('init', '--quiet')
  writeFileSync(join(folder, '.gitignore'), 'data/\nnode_modules/\ndist\n')
  writeFileSync(join(folder, 'a.ts'), '1')
  git('add', '.')
  git('commit', '--quiet', '-m', 'first')
  expect([...changesOfTree(folder)]).toEqual([])
  for (const made of ['node_modules', 'dist', 'data']) {
    mkdirSync(join(folder, made))
    writeFileSync(join(folder, made, 'x'), '')
  }
  writeFileSync(join(folder, ':memory:'), '')
  writeFileSync(join(folder, 'a.ts'), '2')
  expect([...changesOfTree(folder)].sort()).toEqual([' M a.ts', '!! data/', '?? :memory:'])
})

test('a folder that git does not know has none', () => {
  expect(changesOfTree(join(folder, '..')).size).toBe(0)
})
