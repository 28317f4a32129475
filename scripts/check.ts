/**
 * `npm run check`: what can be said of the sources without running them. Types, format and lint, unused files and
 * exports, and the rules of `tests/tidy.test.ts`, all at the same time. Exit code 1 when one of them objects.
 */
import { join } from 'node:path'
import { installTestPackages } from '../tests/runner/packages.ts'

const root = join(import.meta.dir, '..')
const modules = join(root, 'node_modules')

/**
 * Version 7 of TypeScript checks in a quarter of the time; version 5 stays beside it as the parser of tests and
 * scripts, which 7 does not offer to programs.
 */
const checks: Record<string, readonly string[]> = {
  types: [
    'typescript-native/bin/tsc',
    '-p',
    '.',
    '--incremental',
    '--tsBuildInfoFile',
    join(modules, '.cache/check.tsbuildinfo'),
  ],
  'types of the pages': ['typescript-native/bin/tsc', '-p', 'web'],
  'format and lint': ['@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '--colors=off'],
  'unused files, exports and dependencies': ['knip/bin/knip.js', '--no-progress'],
}

await installTestPackages()
// The pages are checked against what the API is now.
if (!(await run('types of the API', [process.execPath, join(import.meta.dir, 'api-types.ts')]))) process.exit(1)
const runs = Object.entries(checks).map(([name, [program, ...words]]) =>
  run(name, ['node', join(modules, program!), ...words]),
)
runs.push(run('rules of the house', [process.execPath, 'test', '--timeout', '60000', 'tests/tidy.test.ts']))
const results = await Promise.all(runs)
process.exit(results.every(Boolean) ? 0 : 1)

async function run(name: string, command: readonly string[]): Promise<boolean> {
  const from = performance.now()
  const child = Bun.spawn([...command], { cwd: root, stdout: 'pipe', stderr: 'pipe' })
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  const good = code === 0
  const seconds = ((performance.now() - from) / 1000).toFixed(1)
  console.log(`${good ? 'good  ' : 'FAILED'} ${name} (${seconds} s)${good ? '' : `\n${output}${errors}`}`)
  return good
}
