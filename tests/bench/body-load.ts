/** Large bodies on one subject: what they cost, and what small calls feel meanwhile. */
import { largeBody, requestBody } from './fixtures.ts'
import { cpuUs, memoryMb, percentile, resetPeak } from './machine.ts'
import type { Subject } from './subjects.ts'

const inFlight = 10

/** Of ten large calls in flight all the time. Processor time is of all threads of the subject. */
export interface BodyFigures {
  /** Processor time of one large call. */
  cpuUs: number
  bodiesPerS: number
  /** Of small calls, one after another, beside them. */
  smallP99Ms: number
}

/** Throws where one is not answered with 200. */
export async function measureBodies(subject: Subject, bytes: number, seconds: number): Promise<BodyFigures> {
  const body = largeBody(bytes)
  let isRunning = true
  let count = 0
  const cpuBefore = cpuUs(subject.pids)
  const from = performance.now()
  const senders = Array.from({ length: inFlight }, async () => {
    for (; isRunning; count++) await post(subject, subject.bodyPath, body)
  })
  const times = await smallCallTimes(subject, seconds)
  isRunning = false
  await Promise.all(senders)
  return {
    cpuUs: (cpuUs(subject.pids) - cpuBefore) / count,
    bodiesPerS: (count * 1000) / (performance.now() - from),
    smallP99Ms: percentile(times, 0.99),
  }
}

/** As `measureBodies`, with what they take of memory, as a multiple of their size, and small calls without them. */
export async function measureBodyMemory(
  subject: Subject,
  bytes: number,
  seconds: number,
): Promise<BodyFigures & { memoryPerBody: number; smallP99AloneMs: number }> {
  const smallP99AloneMs = percentile(await smallCallTimes(subject, seconds), 0.99)
  const before = memoryMb(subject.pids, 'now')
  resetPeak(subject.pids)
  const figures = await measureBodies(subject, bytes, seconds)
  const peak = memoryMb(subject.pids, 'peak')
  return { ...figures, smallP99AloneMs, memoryPerBody: ((peak - before) * 1024 * 1024) / (inFlight * bytes) }
}

/** Milliseconds, sorted: one small call after another from this process, at a modest pace. */
async function smallCallTimes(subject: Subject, seconds: number): Promise<number[]> {
  const times: number[] = []
  const until = performance.now() + seconds * 1000
  while (performance.now() < until) {
    const from = performance.now()
    await post(subject, '/v1/chat/completions', requestBody)
    times.push(performance.now() - from)
    await Bun.sleep(2)
  }
  return times.sort((a, b) => a - b)
}

async function post(subject: Subject, path: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${subject.key}`, 'content-type': 'application/json' }
  const response = await fetch(subject.base + path, { method: 'POST', headers, body })
  if (response.status !== 200) throw new Error(`${subject.name}: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}
