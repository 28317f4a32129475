/** The packages of the tests are apart from those of the gateway, under the same rules. */
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import rootManifest from '../../package.json' with { type: 'json' }
import testsManifest from '../package.json' with { type: 'json' }
import { isInstalled } from './packages.ts'

const root = join(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'modelgate-packages-'))
afterAll(() => rmSync(folder, { recursive: true }))

const write = (file: string, packages: object) => writeFileSync(join(folder, file), JSON.stringify({ packages }))

test('packages count as installed when npm has put there what the lock file names', () => {
  const wanted = {
    '': { version: '1.0.0' },
    'node_modules/one': { version: '2.0.0' },
    'node_modules/of-another-system': { version: '3.0.0', optional: true },
  }
  write('package-lock.json', wanted)
  expect(isInstalled(folder)).toBe(false)
  mkdirSync(join(folder, 'node_modules'))
  write('node_modules/.package-lock.json', {})
  expect(isInstalled(folder)).toBe(false)
  write('node_modules/.package-lock.json', { 'node_modules/one': { version: '1.9.0' } })
  expect(isInstalled(folder)).toBe(false)
  write('node_modules/.package-lock.json', { 'node_modules/one': { version: '2.0.0' } })
  expect(isInstalled(folder)).toBe(true)
})

test('no package of the tests is one of the gateway, and the rules of npm are the same', () => {
  const ofGateway = { ...rootManifest.dependencies, ...rootManifest.devDependencies }
  expect(Object.keys(testsManifest.dependencies).filter(name => name in ofGateway)).toEqual([])
  expect(readFileSync(join(root, 'tests/.npmrc'), 'utf8')).toBe(readFileSync(join(root, '.npmrc'), 'utf8'))
  expect(
    Object.values(testsManifest.dependencies).filter(version => !/^(npm:.*@)?\d+\.\d+\.\d+$/.test(version)),
  ).toEqual([])
})
