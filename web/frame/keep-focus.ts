/** The focus does not get lost: where what had it is gone, what was around it gets it. */
import { useEffect } from 'react'

/** What closes gives the focus back by itself, a moment later. */
const waitMs = 60

const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body

/** Those in which a person goes on, from inside out. */
const places = '[role=dialog], [role=alertdialog], form, [role=table], section, main'

/** Gives the focus to `element`, which Tab does not lead to by itself. */
function focusOn(element: HTMLElement): void {
  if (!element.matches('a[href], button, input, select, textarea, [tabindex]')) element.tabIndex = -1
  element.focus({ preventScroll: true })
}

/**
 * Watches for the lifetime of the page: after Edit, Save, Delete, `g` and a letter, or signing in, the button that was
 * pressed is often not there any more, and the browser would begin at the top of the document.
 */
export function useKeptFocus(path: string): void {
  useEffect(() => {
    /** Around what had the focus last, from inside out. */
    let around: HTMLElement[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const remember = ({ target }: FocusEvent) => {
      around = []
      for (let one = target as HTMLElement | null; one; one = one.parentElement)
        if (one.matches(places)) around.push(one)
    }
    const look = () => {
      if (!isLost() || around.length === 0) return
      const place = around.find(one => one.isConnected) ?? document.getElementById('content')
      if (place) focusOn(place)
    }
    const changed = () => {
      if (!isLost() || around.length === 0) return
      clearTimeout(timer)
      timer = setTimeout(look, waitMs)
    }
    // A press beside everything takes the focus away, and means it.
    const pressed = () => {
      around = []
    }
    const observer = new MutationObserver(changed)
    observer.observe(document.body, { childList: true, subtree: true })
    document.addEventListener('focusin', remember)
    document.addEventListener('pointerdown', pressed)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
      document.removeEventListener('focusin', remember)
      document.removeEventListener('pointerdown', pressed)
    }
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page begins at its content
  useEffect(() => {
    const timer = setTimeout(() => {
      if (isLost()) document.getElementById('content')?.focus({ preventScroll: true })
    }, waitMs)
    return () => clearTimeout(timer)
  }, [path])
}
