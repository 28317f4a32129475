/** What is in the repository beside what git has: tests leave nothing there. */

/** What the commands of the project make, where `.gitignore` names it. */
const made = /^!! (node_modules|tests\/node_modules|dist|build|web\/api\/schema\.d\.ts)\/?$/

/** Changed, new and ignored files of the work tree at `root`, as git names them; none where there is no git. */
export function changesOfTree(root: string): ReadonlySet<string> {
  if (!Bun.which('git')) return new Set()
  const { stdout, exitCode } = Bun.spawnSync(['git', 'status', '--porcelain', '--ignored'], { cwd: root })
  if (exitCode !== 0) return new Set()
  return new Set(
    stdout
      .toString()
      .split('\n')
      .filter(line => line !== '' && !made.test(line)),
  )
}
