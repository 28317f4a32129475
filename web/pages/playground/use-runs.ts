/** The calls of the columns, side by side; each can be stopped. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { nothingYet, run } from './run.ts'
import type { Progress, Question } from './run.ts'

/** The newest call of a column. */
export interface Run extends Progress {
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  /** With the state `failed`. */
  readonly error?: unknown
  readonly tookMs: number | null
}

type Runs = readonly (Run | undefined)[]
type RunRequest = Omit<Question, 'signal'>

interface Slot {
  readonly controller: AbortController
  /** A `blob:` address that its answer made. */
  sound: string | null
}

function release(slot: Slot | undefined): void {
  slot?.controller.abort()
  if (slot?.sound) URL.revokeObjectURL(slot.sound)
}

export function useRuns() {
  const [runs, setRuns] = useState<Runs>([])
  const slots = useRef<(Slot | undefined)[]>([])
  // What is under way ends with the page: an answer that is not read costs all the same.
  useEffect(() => () => slots.current.forEach(release), [])

  const start = useCallback(async (at: number, request: RunRequest) => {
    release(slots.current[at])
    const slot: Slot = { controller: new AbortController(), sound: null }
    slots.current[at] = slot
    const startedMs = performance.now()
    let current: Run = { ...nothingYet, state: 'running', tookMs: null }
    let frame: number | null = null
    const show = () => {
      frame = null
      // The columns before it may have been removed meanwhile; another call may have taken its place.
      const slotIndex = slots.current.indexOf(slot)
      if (slotIndex >= 0)
        setRuns(before => Array.from(slots.current, (_, one) => (one === slotIndex ? current : before[one])))
    }
    const progress = (changed: Progress) => {
      current = { ...current, ...changed }
      slot.sound = changed.output.sound
      // Drawn once a frame: a fast model sends hundreds of pieces a second.
      frame ??= requestAnimationFrame(show)
    }
    show()
    const { signal } = slot.controller
    const end: Pick<Run, 'state' | 'error'> = await run({ ...request, signal }, progress).then(
      () => ({ state: 'done' as const }),
      (error: unknown) => (signal.aborted ? { state: 'stopped' as const } : { state: 'failed' as const, error }),
    )
    if (frame !== null) cancelAnimationFrame(frame)
    current = { ...current, ...end, tookMs: performance.now() - startedMs }
    show()
  }, [])

  const stop = useCallback((at: number) => slots.current[at]?.controller.abort(), [])
  const clear = useCallback(() => {
    slots.current.forEach(release)
    slots.current = []
    setRuns([])
  }, [])
  const remove = useCallback((at: number) => {
    release(slots.current[at])
    slots.current.splice(at, 1)
    setRuns(before => before.toSpliced(at, 1))
  }, [])
  return { runs, start, stop, clear, remove, isRunning: runs.some(one => one?.state === 'running') }
}
