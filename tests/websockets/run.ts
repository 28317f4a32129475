/**
 * `npm run websockets`: Autobahn's test suite of WebSockets against this server, which gives messages back. The suite
 * runs in Python 2.7 alone; its packages are installed once, in the folder for temporary files. Prints the cases that
 * fail, and ends with status 1 when one does. Skips with a word where there is no such Python (with pyenv:
 * `PYENV_VERSION=2.7.18 npm run websockets`). `-- --cases 1.*,7.*` runs a part.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEcho } from './echo-server.ts'

/** Compression (12, 13) is not offered: a small message must not become a large one in memory. */
const declared = ['12.*', '13.*']
const outcomes = new Set(['OK', 'NON-STRICT', 'INFORMATIONAL'])

const python = Bun.which('python2.7')
if (!python || Bun.spawnSync([python, '--version']).exitCode !== 0) {
  console.log('skipped: there is no Python 2.7 on this machine')
  process.exit(0)
}
const packages = await installed(python, join(import.meta.dir, 'requirements.txt'))
const at = process.argv.indexOf('--cases')
const cases = at < 0 ? ['*'] : process.argv[at + 1]!.split(',')
const echo = startEcho()
const folder = mkdtempSync(join(tmpdir(), 'modelgate-websockets-'))
try {
  writeFileSync(
    join(folder, 'spec.json'),
    JSON.stringify({
      outdir: join(folder, 'reports'),
      servers: [{ agent: 'modelgate', url: echo.url.replace('http', 'ws') }],
      cases,
      'exclude-cases': declared,
    }),
  )
  const program =
    'import sys, txaio; txaio.use_twisted(); from autobahntestsuite.wstest import run; ' +
    "sys.argv = ['wstest', '-m', 'fuzzingclient', '-s', 'spec.json']; run()"
  const suite = Bun.spawn([python, '-c', program], {
    cwd: folder,
    env: { ...process.env, PYTHONPATH: packages },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  })
  await suite.exited
  const { modelgate } = JSON.parse(readFileSync(join(folder, 'reports', 'index.json'), 'utf8')) as {
    modelgate: Record<string, { behavior: string; behaviorClose: string }>
  }
  const all = Object.entries(modelgate)
  const failed = all.filter(([, one]) => !outcomes.has(one.behavior) || !outcomes.has(one.behaviorClose))
  for (const [name, one] of failed) console.log(`${name}: ${one.behavior}, close ${one.behaviorClose}`)
  const loose = all.filter(([, one]) => one.behavior === 'NON-STRICT').map(([name]) => name)
  if (loose.length > 0) console.log(`not strict: ${loose.join(', ')}`)
  console.log(`${all.length - failed.length} of ${all.length} cases passed`)
  process.exitCode = all.length === 0 || failed.length > 0 ? 1 : 0
} finally {
  echo.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** The folder of the packages; without their dependencies, which the list has in versions that fit. */
async function installed(interpreter: string, requirements: string): Promise<string> {
  const wanted = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16)
  const target = join(process.env.MODELGATE_CLIENTS_CACHE ?? tmpdir(), `modelgate-autobahn-${wanted}`)
  const isComplete = join(target, 'complete')
  if (existsSync(isComplete)) return target
  const words = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', target, '--requirement', requirements]
  const child = Bun.spawn([interpreter, ...words], { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' })
  if ((await child.exited) !== 0) throw new Error(`pip ended with ${child.exitCode}`)
  // A package of a namespace, which Python 2 finds only by this file.
  writeFileSync(join(target, 'zope', '__init__.py'), '')
  writeFileSync(isComplete, '')
  return target
}
