/** What only the tests need is installed beside them, by tests/package.json and a lock file of its own. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const testsFolder = join(import.meta.dir, '..')

/** The part of npm's lock files that says what is installed where. */
interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>
}

/** Whether what npm says it has installed in `folder` is what the lock file there names. */
export function isInstalled(folder: string): boolean {
  const installedFile = join(folder, 'node_modules/.package-lock.json')
  if (!existsSync(installedFile)) return false
  const [wanted, installed] = [join(folder, 'package-lock.json'), installedFile].map(
    file => (JSON.parse(readFileSync(file, 'utf8')) as Lock).packages,
  )
  return Object.entries(wanted!).every(
    ([path, { version, optional }]) => path === '' || optional || installed![path]?.version === version,
  )
}

/** Installs the packages of the tests where they are missing or others than the lock file names, and says so. */
export async function installTestPackages(): Promise<void> {
  if (isInstalled(testsFolder)) return
  console.log('tests/package.json: installing what only the tests need (npm ci in tests)')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  // tests/.npmrc has the same rules; these hold whatever the environment says.
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const child = Bun.spawn([npm, ...words], { cwd: testsFolder, stdout: 'inherit', stderr: 'inherit' })
  const code = await child.exited
  if (code !== 0) throw new Error(`npm ci in tests failed (exit ${code}); run \`npm ci\` there to see why`)
}
