"""Addresses of memory, under /memory/ in the namespace `memory`."""

from django.urls import URLPattern, URLResolver

app_name = "memory"

urlpatterns: list[URLPattern | URLResolver] = []
