/** A text that is searched for: in the address, and asked for when the typing pauses. */
import { useEffect, useState } from 'react'
import { useSearchValue } from './address.ts'

const pauseMs = 300

/** `text` is what the field shows, `searched` what the address has and lists are asked with. */
export function useSearchText(name = 'q'): { text: string; searched: string; type: (text: string) => void } {
  const [searched, setSearched] = useSearchValue(name)
  const [text, type] = useState(searched)
  useEffect(() => {
    if (text === searched) return undefined
    const timer = setTimeout(() => setSearched(text), pauseMs)
    return () => clearTimeout(timer)
  }, [text, searched, setSearched])
  return { text, searched, type }
}
