// Browsers start no search worker for a page opened from a folder: don't offer what can't work.
if (location.protocol === "file:") document.documentElement.classList.add("no-search");
