import { expect, test } from 'bun:test'
import { look, toldAfterMs } from './health-alerts.ts'
import type { Trouble } from './health-alerts.ts'
import { diskFullness } from './troubles.ts'

type Parts = Parameters<typeof look>[0]

test('a trouble is told once when it has lasted for a minute, and its end where it was told', () => {
  let nowMs = 1_000_000
  let troubles: Trouble[] = []
  const told: { event: string; subject: string; until: string | null }[] = []
  const logged: string[] = []
  const parts: Parts = {
    clock: { epochMs: () => nowMs },
    logger: { error: (text: string) => logged.push(text), info: (text: string) => logged.push(text) } as never,
    deliver: ({ event }) => void told.push(event as never),
    troubles: () => troubles,
    settings: () => ({ webhookUrls: ['https://alerts.example.com'], alertEmails: [] }),
  }
  const lasting: Parameters<typeof look>[1] = new Map()
  const after = (ms: number, now: Trouble[]) => {
    nowMs += ms
    troubles = now
    look(parts, lasting)
    return told.splice(0).map(({ event, subject }) => `${event} ${subject}`)
  }
  const [down, slow] = [
    { id: 'deployment:a', message: 'a fails' },
    { id: 'redis', message: 'Redis is away' },
  ]
  expect(after(0, [down, slow])).toEqual([])
  expect(after(toldAfterMs - 1, [down])).toEqual([])
  expect(after(1, [down])).toEqual(['trouble_began deployment:a'])
  expect(after(toldAfterMs * 10, [down, slow])).toEqual([])
  expect(after(1, [slow])).toEqual(['trouble_ended deployment:a'])
  expect(after(1, [])).toEqual([])
  // It begins anew: the time before does not count.
  expect(after(1, [down])).toEqual([])
  expect(after(toldAfterMs, [down])).toEqual(['trouble_began deployment:a'])
  expect(logged).toEqual(['a fails', 'deployment:a is well again', 'a fails'])
})

test('a disk is nearly full below a twentieth of it and ten gigabytes', () => {
  const gigabyte = 1024 ** 3
  const of = (freeBytes: number, totalBytes: number) => diskFullness({ directory: '/data', freeBytes, totalBytes })
  expect(of(6 * gigabyte, 100 * gigabyte)).toBeUndefined()
  expect(of(20 * gigabyte, 1000 * gigabyte)).toBeUndefined()
  expect(of(4 * gigabyte, 100 * gigabyte)).toEqual({
    id: 'disk',
    message: 'the disk of the data directory /data is nearly full: 4096 MiB are left',
  })
})
