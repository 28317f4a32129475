/** When a wait is over: Redis' silence counts, not the work of this process. */
import { afterAll, expect, test } from 'bun:test'
import { AnswerWatch } from './answer-deadline.ts'

const silence = (silenceMs: number, queueMs = 10_000) => ({ silenceMs, queueMs })
const never = () => new Promise<string>(() => {})
const after = (ms: number) => Bun.sleep(ms).then(() => 'answer')
const newWatch = () => new AnswerWatch(() => new Error('late'))

/** What became of it, and when. */
async function end(work: Promise<unknown>): Promise<[string, number]> {
  const fromMs = performance.now()
  const what = await work.then(String, (error: Error) => error.message)
  return [what, performance.now() - fromMs]
}

function busy(ms: number): void {
  for (const fromMs = performance.now(); performance.now() - fromMs < ms; );
}

/** Another process, which answers while this one is busy. */
const echo = Bun.spawn(['cat'], { stdin: 'pipe', stdout: 'pipe' })
afterAll(() => echo.kill())
const reader = echo.stdout.getReader()
function ask(): Promise<string> {
  echo.stdin.write('answer')
  echo.stdin.flush()
  return reader.read().then(({ value }) => new TextDecoder().decode(value))
}

test('no answer is late after the time that was given, and a failure comes at once', async () => {
  const watch = newWatch()
  const ends = await Promise.all([
    end(watch.inTime(never(), silence(60))),
    end(watch.inTime(Promise.reject(new Error('closed')), silence(60))),
  ])
  expect(ends.map(([what]) => what)).toEqual(['late', 'closed'])
  expect(ends[0]![1]).toBeWithin(58, 150)
  expect(ends[1]![1]).toBeLessThan(30)
  expect(await watch.inTime(after(20), silence(60))).toBe('answer')
})

test('an answer that came while this process was busy is in time', async () => {
  const watch = newWatch()
  for (let round = 0; round < 5; round++) {
    const answer = end(watch.inTime(ask(), silence(30)))
    if (round % 2 === 1) await new Promise(resolve => setImmediate(resolve))
    busy(80)
    expect((await answer)[0]).toBe('answer')
  }
})

test('a question waits in its queue while others are answered, but not for ever', async () => {
  const watch = newWatch()
  for (const ms of [40, 80, 120]) void watch.inTime(after(ms), silence(60))
  const [patient, other] = await Promise.all([
    end(watch.inTime(never(), silence(60))),
    end(watch.inTime(never(), silence(60, 100))),
  ])
  expect([patient[0], other[0]]).toEqual(['late', 'late'])
  expect(patient[1]).toBeWithin(175, 260)
  expect(other[1]).toBeWithin(98, 170)
})

test('a long wait does not delay the deadlines of others', async () => {
  const watch = newWatch()
  const long = end(watch.inTime(never(), silence(300)))
  await Bun.sleep(20)
  const short = await end(watch.inTime(never(), silence(40)))
  expect(short[0]).toBe('late')
  expect(short[1]).toBeWithin(38, 120)
  expect((await long)[1]).toBeWithin(298, 400)
})
