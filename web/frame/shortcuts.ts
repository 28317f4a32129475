/** The keyboard map. Letters do nothing while one types. */
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { routes } from './routes.ts'

/** How long `g` waits for the letter of a page. */
const goToMs = 1500

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

export function useShortcuts({ palette, help }: { palette: () => void; help: () => void }): void {
  const navigate = useNavigate()
  useEffect(() => {
    let goToSinceMs = Number.NEGATIVE_INFINITY
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        return palette()
      }
      // What is open has its own keys.
      if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return
      if (document.querySelector('[role=dialog][data-open]:not([data-drawer]), [role=alertdialog]')) return
      if (event.timeStamp - goToSinceMs < goToMs) {
        goToSinceMs = Number.NEGATIVE_INFINITY
        const page = routes.find(one => one.nav?.key === event.key)
        if (page) void navigate({ to: page.path })
        return
      }
      // From there on it is the list that is walked.
      const isInList = event.target instanceof Element && event.target.closest('[role=table], [role=dialog]') !== null
      const selector = isInList && isWalk(event.key) ? undefined : pressed[event.key]
      if (event.key === 'g') goToSinceMs = event.timeStamp
      else if (event.key === '?') help()
      else if (selector) {
        const element = document.querySelector<HTMLElement>(selector)
        if (!element) return
        event.preventDefault()
        if (event.key === 'c') element.click()
        else element.focus()
      }
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [navigate, palette, help])
}

/** What these keys find on a page. */
const firstRow = 'main [role=table] [data-row] a'
const pressed: Readonly<Record<string, string>> = {
  '/': '[data-search]',
  c: '[data-primary]',
  j: firstRow,
  k: firstRow,
}

const isWalk = (key: string): boolean => key === 'j' || key === 'k'
