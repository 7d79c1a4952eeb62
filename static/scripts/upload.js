// An archive goes up in pieces, so that two gigabytes need neither the memory nor one long request, and a phone
// that loses the line goes on where it was. Without this script the form sends the file whole.
const PIECE = 8 * 1024 * 1024;
const TRIES = 5;

const form = document.querySelector("form[data-upload]");

const headers = () => ({ "X-CSRFToken": document.body.dataset.csrf });

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const answer = async (response) => {
  const said = await response.json().catch(() => ({}));
  if (response.ok) return said;
  throw Object.assign(new Error(said.error || "The upload was refused."), { received: said.received });
};

const begin = async (file) => {
  const body = new FormData();
  body.append("name", file.name);
  body.append("size", file.size);
  return answer(await fetch(form.action, { method: "POST", body, headers: headers() }));
};

const send = async (file, id, at) => {
  const url = `${form.dataset.upload}${id}/part/?offset=${at}`;
  const body = file.slice(at, at + PIECE);
  for (let tried = 1;; tried += 1) {
    try {
      const type = { "Content-Type": "application/octet-stream" };
      return (await answer(await fetch(url, {
        method: "POST",
        body,
        headers: {
          ...headers(),
          ...
          type
        }
      }))).received;
    } catch (error) {
      // The piece had come, only its answer was lost.
      if (error.received > at) return error.received;
      if (error.received !== undefined || tried === TRIES) throw error;
      await pause(1000 * tried);
    }
  }
};

const upload = async (file) => {
  const state = form.querySelector("[data-upload-state]");
  const [bar, words] = [state.querySelector("progress"), state.querySelector("p")];
  state.hidden = false;
  form.setAttribute("aria-busy", "true");
  try {
    const { id } = await begin(file);
    for (let at = 0; at < file.size;) {
      at = await send(file, id, at);
      bar.value = (100 * at) / file.size;
      words.textContent = `${Math.round(bar.value)}% uploaded`;
    }
    location.assign(`${form.dataset.upload}${id}/`);
  } catch (error) {
    words.textContent = error.message;
    form.removeAttribute("aria-busy");
  }
};

if (form) {
  const input = form.querySelector("input[type=file]");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.files[0] && !form.hasAttribute("aria-busy")) upload(input.files[0]);
  });
  for (const name of ["dragenter", "dragover"]) {
    form.addEventListener(name, (event) => {
      event.preventDefault();
      form.classList.add("over");
    });
  }
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (file && !form.hasAttribute("aria-busy")) upload(file);
  });
}
