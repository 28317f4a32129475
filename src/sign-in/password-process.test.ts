/** The process that verifies passwords of strangers: its priority, its end, and what is done without it. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { PasswordProcess } from './password-process.ts'
import { until } from '../../tests/support/until.ts'

const password = 'correct horse battery'
const hash = await Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: 1024, timeCost: 1 })
/** Half a second of a processor: it is still under way when something happens to the process. */
const slowHash = '$argon2id$v=19$m=65536,t=6,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
/** Nothing is done in the pool for want of time, however busy the machine. */
const patient = { poolAfterMs: 600_000 }
const testMsMax = 600_000

/** Fields of /proc/PID/stat behind the name; undefined = it has ended. */
function statOf(pid: number): readonly string[] | undefined {
  const file = `/proc/${pid}/stat`
  const stat = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return stat === '' || fields[0] === 'Z' ? undefined : fields
}

/** Processes that `parent` started and that verify passwords. */
function children(parent = process.pid): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => pid > 0 && statOf(pid)?.[1] === String(parent) && commandOf(pid).includes('password-worker'))
}

const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8')
/** [nice, scheduling policy]; 5 is SCHED_IDLE. */
const priorityOf = (pid: number): readonly number[] => [Number(statOf(pid)![16]), Number(statOf(pid)![38])]

const onLinux = test.skipIf(process.platform !== 'linux')

onLinux(
  'it gets the time that nothing else wants, is sent nothing but passwords, and ends when none comes',
  async () => {
    const apart = new PasswordProcess({ ...patient, idleMs: 200 })
    expect(await apart.verify({ password, hash })).toBe(true)
    const [pid] = children()
    expect(priorityOf(pid!)).toEqual([19, Bun.which('chrt') ? 5 : 0])
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
    expect(environment.filter(line => !line.startsWith('NODE_CHANNEL_'))).toEqual([])
    expect(await apart.verify({ password: 'wrong', hash })).toBe(false)
    expect(await apart.verify({ password, hash: 'no hash' }).catch(() => 'no hash')).toBe('no hash')
    expect(children()).toEqual([pid!])
    await until(() => children().length === 0)
    // Another one starts.
    expect(await apart.verify({ password, hash })).toBe(true)
    await until(() => children().length === 0)
  },
  testMsMax,
)

for (const [name, idleCommand] of [
  ['there is no command for that priority', []],
  ['the system forbids that priority', [Bun.which('false')!]],
] as const)
  onLinux(
    `where ${name}, it has the lowest usual one`,
    async () => {
      const apart = new PasswordProcess({ ...patient, idleMs: 200, idleCommand })
      expect(await apart.verify({ password, hash })).toBe(true)
      expect(children().map(priorityOf)).toEqual([[19, 0]])
      await until(() => children().length === 0)
    },
    testMsMax,
  )

onLinux(
  'when it is killed, what it was asked is answered, and another one starts later',
  async () => {
    const apart = new PasswordProcess({ ...patient, idleMs: 200, restartMs: 1 })
    await apart.verify({ password, hash })
    const [first] = children()
    const wrong = apart.verify({ password, hash: slowHash })
    process.kill(first!, 'SIGKILL')
    expect(await wrong).toBe(false)
    expect(children()).toEqual([])
    await Bun.sleep(1)
    expect(await apart.verify({ password, hash })).toBe(true)
    expect(children()).not.toEqual([first!])
    await until(() => children().length === 0)
  },
  testMsMax,
)

test('where it cannot be started, passwords are checked without it, once in a while', async () => {
  const poolAfterMs = 100
  const apart = new PasswordProcess({ poolAfterMs, idleCommand: ['/no/such/program'] })
  const endedMs: number[] = []
  for (const tried of [password, 'wrong', password]) {
    expect(await apart.verify({ password: tried, hash })).toBe(tried === password)
    endedMs.push(performance.now())
  }
  // The first one at once.
  expect(endedMs[2]! - endedMs[0]!).toBeGreaterThan(poolAfterMs)
})

test('where nothing is left to it, a password is checked without it', async () => {
  const apart = new PasswordProcess({ idleMs: 1, poolAfterMs: 0 })
  for (const tried of [password, 'wrong', password])
    expect(await apart.verify({ password: tried, hash })).toBe(tried === password)
})

onLinux(
  'it ends with the gateway, however that ends',
  async () => {
    const script = `
      import { PasswordProcess } from './password-process.ts'
      const apart = new PasswordProcess()
      await apart.verify(${JSON.stringify({ password, hash })})
      console.log('verified')
      setInterval(() => {}, 1000)`
    const gateway = Bun.spawn([process.execPath, '-e', script], { cwd: import.meta.dir, stdout: 'pipe' })
    for await (const _ of gateway.stdout) break
    const [pid] = children(gateway.pid)
    expect(statOf(pid!)).toBeDefined()
    gateway.kill('SIGKILL')
    await until(() => statOf(pid!) === undefined)
  },
  testMsMax,
)
