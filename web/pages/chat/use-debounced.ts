import { useEffect, useState } from 'react'

/** Of what is typed only what stays for a moment is asked for. */
const typingMs = 250

/** The text, once it has not changed for a moment; an emptied field counts at once. */
export function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), text === '' ? 0 : typingMs)
    return () => clearTimeout(timer)
  }, [text])
  return debounced
}
